"""Every fault lights its own examinations and no others; a sound attention lights none, at any size."""

from __future__ import annotations

import inspect

import pytest
import torch

from mha_teach import clinic
from mha_teach.clinic.patient import Patient

each = pytest.mark.parametrize("fault", clinic.FAULTS, ids=lambda fault: fault.name)


def lit(patient: Patient) -> set[str]:
    return {name for name, finding in clinic.examine(patient).items() if finding.lit}


@pytest.mark.parametrize(("d_model", "num_heads"), [(15, 3), (26, 2), (35, 5), (11, 1)])
def test_a_sound_attention_lights_nothing(d_model, num_heads):
    torch.manual_seed(d_model)
    findings = clinic.examine(Patient(d_model, num_heads))
    assert {name: f.words for name, f in findings.items() if f.lit} == {}
    assert list(findings) == list(clinic.EXAMS) and all(f.words for f in findings.values())


@each
def test_a_fault_lights_exactly_what_it_says(fault):
    torch.manual_seed(0)
    assert lit(fault.build()) == set(fault.found_by)


@each
@pytest.mark.parametrize("seed", [1, 2])
def test_and_so_it_does_with_other_weights_and_sizes(fault, seed):
    torch.manual_seed(seed)
    assert lit(fault.build(d_model=(26, 35)[seed - 1], num_heads=(2, 5)[seed - 1])) == set(fault.found_by)


@each
def test_a_fault_is_one_small_change(fault):
    """The class overrides a step or two of `Patient`, not the whole."""
    own = [name for name, member in vars(fault.patient).items() if inspect.isfunction(member)]
    assert 1 <= len(own) <= 3 and fault.symptom and fault.cure and fault.found_by


def test_every_examination_finds_something_and_names_are_unique():
    assert {name for fault in clinic.FAULTS for name in fault.found_by} == set(clinic.EXAMS)
    names = [fault.name for fault in clinic.FAULTS]
    assert len(set(names)) == len(names) >= 24
    assert {fault.family for fault in clinic.FAULTS} == {
        "reshape",
        "scale",
        "mask",
        "softmax",
        "dropout",
        "inputs",
    }


@each
def test_a_broken_module_still_runs_and_keeps_the_shape(fault):
    """None of them raises on the everyday call: that's why they live so long."""
    torch.manual_seed(0)
    x = torch.randn(2, 7, 15)
    output, _ = fault.build()(x)
    assert output.shape == x.shape


def test_the_patient_is_left_as_it_came():
    torch.manual_seed(0)
    patient = Patient(15, 3, dropout=0.1).train()
    before = {name: x.clone() for name, x in patient.state_dict().items()}
    state = torch.random.get_rng_state()
    clinic.examine(patient)
    assert patient.training and patient.dropout == 0.1
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(x.grad is None for x in patient.parameters())
    assert all(torch.equal(x, before[name]) for name, x in patient.state_dict().items())
    assert lit(Patient(15, 3).double()) == set()


def test_the_patient_equals_torch():
    torch.manual_seed(0)
    patient = Patient(15, 3).double()
    theirs = torch.nn.MultiheadAttention(15, 3, batch_first=True, dtype=torch.float64)
    parts = (patient.w_q, patient.w_k, patient.w_v)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        theirs.out_proj.load_state_dict(patient.w_o.state_dict())
    q, k, v = (torch.randn(2, n, 15, dtype=torch.float64) for n in (5, 7, 7))
    torch.testing.assert_close(patient(q, k, v)[0], theirs(q, k, v)[0], atol=1e-12, rtol=0)


def test_get_names_what_there_is():
    assert clinic.get("no scale").family == "scale"
    with pytest.raises(KeyError, match="no fault 'nothing'; there are view without transpose, "):
        clinic.get("nothing")


def test_reports_are_references_only():
    for fault in clinic.FAULTS:
        assert all("#" in report or " PR " in report for report in fault.reports)
