from workbench.report.render.policy import policy


def test_a_policy_names_the_hash_of_what_it_allows():
    found = policy("let x;", "p{}")
    assert found.count("sha256-") == 2
    assert "unsafe" not in found
    assert policy("let y;", "p{}") != found
