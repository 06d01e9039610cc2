"""Forms of small studies, and what stands in them."""

from __future__ import annotations

from spa.forms.build import build_form
from spa.forms.texts import load_texts
from spa.records.form import (
    Exhibit,
    ExhibitsBlock,
    Form,
    Page,
)
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.sampling import sample_assignments, study_rng
from tests.spa.form_words import form_text
from tests.strategies import outputs_of

MEANING = {"id": "meaning", "name": "meaning", "against_source": True, "question": "Is the meaning of {system} kept?"}


def forms_of(study: Study, outputs: Outputs | None = None, count: int = 1) -> list[Form]:
    made = outputs_of(study) if outputs is None else outputs
    texts = load_texts(study.language, study.texts)
    draws = sample_assignments(study, made, count=count, rng=study_rng(study.seed))
    return [build_form(study, made, assignment, key, texts) for assignment, key in draws]


def exhibits_of(page: Page) -> list[Exhibit]:
    blocks = [block for block in page.blocks if isinstance(block, ExhibitsBlock)]
    return [each for block in blocks for each in (block.heading, *block.exhibits) if each is not None]


def said(form: Form) -> str:
    return "\n".join(form_text(form, "people"))
