from workbench.components.context.conditions import CLEAN_TWINS, CONDITIONS, PERTURBATIONS, clean_twin, conditions_fault, variants_of
from workbench.core.records import Variant


def test_every_perturbation_and_repeat_of_a_condition_is_a_variant() -> None:
    found = variants_of(["injection", "gold"], repeats=2)
    assert [str(variant) for variant in found[:4]] == ["gold", "gold#1", "injection/override", "injection/override#1"]
    assert len(found) == 2 + 2 * 6
    assert [str(variant) for variant in variants_of(["counterfactual"])] == ["counterfactual/before", "counterfactual/after"]


def test_variants_are_in_one_order_however_they_are_named() -> None:
    assert variants_of(CONDITIONS[::-1]) == variants_of(CONDITIONS)
    assert len(variants_of(CONDITIONS)) == 6 + 2 + 6


def test_a_perturbed_variant_is_paired_with_the_same_repeat_of_its_clean_twin() -> None:
    assert clean_twin(Variant("injection", "markup", 3)) == Variant("gold", "", 3)
    assert clean_twin(Variant("retrieved")) is None
    assert CLEAN_TWINS.keys() == PERTURBATIONS.keys()


def test_wrong_conditions_are_one_line(wording) -> None:
    wording(conditions_fault, [["gold", "retreived"], ["gold", "gold"], ["injection"], [], CONDITIONS], None)
