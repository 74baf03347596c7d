"""Every registered formalism keeps the contract."""

from formalism_contract import FormalismContract

from flexmbs.formalisms import FORMALISMS

for _name, _formalism in FORMALISMS.items():
    _class = f"Test{_name.title().replace('-', '')}"
    globals()[_class] = type(_class, (FormalismContract,), {"formalism": _formalism()})


def test_every_formalism_is_here() -> None:
    tested = {value.formalism.name for key, value in globals().items() if key.startswith("Test")}
    assert tested == set(FORMALISMS)
