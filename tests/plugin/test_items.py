"""Built-in items as pytest and other plugins find them: lighter than functions, and used like any."""

import pytest

GOOD = "--mapsat-agent=good:agent"
ONE = ("-k", "nav-one", "-p", "no:cacheprovider")


def test_a_fixture_that_stands_in_for_the_case_is_asked_by_built_in_items_too(project: pytest.Pytester) -> None:
    project.makeconftest(
        "import pytest\n"
        "@pytest.fixture\n"
        "def mapsat_case(mapsat_case):\n"
        "    print('asked for', mapsat_case.id)\n"
        "    return mapsat_case\n"
    )
    result = project.runpytest(GOOD, "-s", *ONE)
    result.assert_outcomes(passed=1, deselected=2)
    result.stdout.fnmatch_lines(["*asked for nav-one*"])


def test_a_fixture_of_everybody_is_set_up_around_the_case(project: pytest.Pytester) -> None:
    project.makeconftest(
        "import pytest\n"
        "@pytest.fixture(autouse=True)\n"
        "def around(request):\n"
        "    print('before', request.node.name, sorted(request.fixturenames))\n"
        "    yield\n"
        "    print('after', request.node.name)\n"
    )
    result = project.runpytest(GOOD, "-s", *ONE)
    result.assert_outcomes(passed=1, deselected=2)
    result.stdout.fnmatch_lines(["*before case?nav-one? ?'around', 'mapsat_case', 'request'?", "*after case?nav-one?"])


def test_fixtures_are_shown_to_who_asks_to_see_them(project: pytest.Pytester) -> None:
    result = project.runpytest(GOOD, "--setup-show", *ONE)
    result.stdout.fnmatch_lines(["*SETUP    F mapsat_case*", "*TEARDOWN F mapsat_case*"])


def test_what_a_plugin_adds_to_an_item_is_found_in_its_report(project: pytest.Pytester) -> None:
    project.makeconftest(
        "def pytest_itemcollected(item):\n"
        "    item.extra_keyword_matches.add('marine')\n"
        "    item.user_properties.append(('ours', item.name))\n"
        "    item.add_marker('search')\n"
        "def pytest_runtest_setup(item):\n"
        "    item.add_report_section('setup', 'note', 'seen')\n"
        "def pytest_runtest_logreport(report):\n"
        "    if report.when == 'teardown':\n"
        "        told = dict(report.user_properties)\n"
        "        print(told['ours'], told['mapsat.outcome'], report.sections, 'search' in report.keywords, report.location)\n"
    )
    result = project.runpytest(GOOD, "-s", "-k", "marine and nav-one", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, deselected=2)
    result.stdout.fnmatch_lines(
        ["*case?nav-one? passed ?('Captured note setup', 'seen')? True (*, 0, 'case?nav-one?')*"]
    )


def test_an_item_shares_nothing_that_others_change(project: pytest.Pytester) -> None:
    project.makeconftest(
        "def pytest_collection_modifyitems(items):\n"
        "    items[0].add_marker('search')\n"
        "    items[0].user_properties.append(('first', True))\n"
        "    assert [len(item.user_properties) for item in items] == [1, 0, 0]\n"
        "    assert len({id(item.own_markers) for item in items}) == 3\n"
        "    assert len({id(item.keywords) for item in items}) == 3\n"
    )
    project.runpytest(GOOD, "-p", "no:cacheprovider").assert_outcomes(passed=3)
