import pytest
from traitlets.config import Config

from nbrewind.errors import SettingError
from nbrewind.extension.settings import ALIASES, NBRewind
from nbrewind.session.defaults import SECRETS, Surroundings


@pytest.fixture
def around(tmp_path):
    (tmp_path / "work").mkdir()
    return Surroundings({"DATA": str(tmp_path / "data")}, str(tmp_path), str(tmp_path / "work"), ("/tmp",))


def settings(around, scope="jupyter:notebook", **given):
    return NBRewind.make(Config({"NBRewind": given}))[0].settings(around, scope)


def test_every_trait_has_help_and_is_configurable():
    for name, trait in NBRewind.class_traits(config=True).items():
        assert len(trait.help) > 20, name


def test_every_alias_names_a_trait():
    assert set(ALIASES.values()) <= set(NBRewind.class_trait_names(config=True))


def test_defaults(around, tmp_path):
    made = settings(around)

    assert made.workspace == str(tmp_path / "work") and made.recording
    assert made.store_dir.startswith(str(tmp_path / ".local/share/jupyter/nbrewind/"))
    assert made.secrets == SECRETS and made.max_file_size == 1 << 30 and made.rewind_paths is None
    assert str(tmp_path / ".cache") in made.shared_roots


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("~/s", "s"),
        ("$DATA/s", "data/s"),
        ("${DATA}/s", "data/s"),
        ("rel", "work/rel"),
        ("workspace", "work/.nbrewind"),
    ],
)
def test_store_dir_takes_home_and_variables(around, tmp_path, given, expected):
    assert settings(around, store_dir=given).store_dir == str(tmp_path / expected)


@pytest.mark.parametrize(
    ("given", "recorded"),
    [
        (["*"], True),
        ([], False),
        (["jupyter:*"], True),
        (["jupyter"], True),
        (["terminal:*"], False),
        (["terminal:*", "*:notebook"], True),
    ],
)
def test_scopes(around, given, recorded):
    assert settings(around, scopes=given).recording is recorded


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"max_file_size": 3}, "max_file_size"),
        ({"max_file_size": "large"}, "max_file_size"),
        ({"min_free_disk": 1.5}, "min_free_disk"),
        ({"durability": "none"}, "durability"),
        ({"turns": "sometimes"}, "turns"),
        ({"scopes": ["a:b:c"]}, "scopes"),
        ({"rewind_paths": ["../x"]}, "rewind_paths"),
        ({"rewind_exclude": [" "]}, "rewind_exclude"),
        ({"protect_paths": 5}, "protect_paths"),
        ({"store_dir": "$NOT_SET/x"}, "store_dir"),
        ({"store_dir": "file:///x"}, "store_dir"),
        ({"workspace": "/no/such/place"}, "workspace"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_wrong_value_is_an_error_that_names_the_setting(around, given, named):
    with pytest.raises(SettingError, match=rf"NBRewind\.{named}"):
        settings(around, **given)


def test_unknown_name_gets_a_suggestion():
    with pytest.raises(SettingError) as error:
        NBRewind.make(Config({"NBRewind": {"MaxFileSize": 5000}}))
    assert error.value.hint == "Did you mean max_file_size?"


def test_older_names_are_taken_with_a_warning(around):
    traits, warnings = NBRewind.make(
        Config(
            {"NBRewind": {"maxFileSize": 5000, "autoCheckpointPerTurn": False, "autoEveryNTurns": 3, "keepSessions": 5}}
        )
    )

    assert (traits.max_file_size, traits.turns, traits.every_n_turns, traits.keep_sessions) == (5000, "named", 3, 5)
    assert len(warnings) == 4 and "maxFileSize" in warnings[0]


def test_appended_list_keeps_the_defaults(around):
    config = Config()
    config.NBRewind.secrets.append("mine.key")

    assert NBRewind.make(config)[0].secrets == [*SECRETS, "mine.key"]
