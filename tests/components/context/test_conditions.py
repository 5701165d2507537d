from workbench.components.context.conditions import CLEAN_TWINS, CONDITIONS, PERTURBATIONS, conditions_fault, variants_of


def test_every_perturbation_and_repeat_of_a_condition_is_a_variant() -> None:
    found = variants_of(["injection", "gold"], repeats=2)
    assert [str(variant) for variant in found[:4]] == ["gold", "gold#1", "injection/override", "injection/override#1"]
    assert len(found) == 2 + 2 * 6
    assert [str(variant) for variant in variants_of(["counterfactual"])] == ["counterfactual/before", "counterfactual/after"]


def test_variants_are_in_one_order_however_they_are_named() -> None:
    assert variants_of(CONDITIONS[::-1]) == variants_of(CONDITIONS)
    assert len(variants_of(CONDITIONS)) == 6 + 2 + 6


def test_every_perturbed_condition_has_a_clean_twin() -> None:
    assert CLEAN_TWINS.keys() == PERTURBATIONS.keys()


def test_wrong_conditions_are_one_line(wording) -> None:
    wording(conditions_fault, [["gold", "retreived"], ["gold", "gold"], ["injection"], [], CONDITIONS], None)
