"""Small datasets in languages whose words have no blanks between them, or marks inside: documents are found, and right answers score 1."""

import json
from pathlib import Path

import pytest

from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import experiment_of

# Of each language: a document, a question, its expected answer and an answer that contains it; and an answer to the first question that is wrong.
CHINESE = [
    ("游泳馆早上六点开门，晚上九点关门。周一闭馆清洁。", "游泳馆几点开门", "早上六点", "根据规定，游泳馆早上六点开门。"),
    ("会员一次可以借五本书，借期两周。逾期每天罚款五角。", "一次能借多少本书", "五本", "每位会员可借五本书。"),
    ("打印机在二楼，请先连接VPN，再打开设置页面。", "怎么用打印机", "先连接VPN", "用打印机前，请先连接VPN。"),
    "晚上九点以前都可以",
]
THAI = [
    ("สระว่ายน้ำเปิดหกโมงเช้าและปิดสามทุ่มทุกวัน", "สระว่ายน้ำเปิดกี่โมง", "หกโมงเช้า", "สระเปิดตั้งแต่หกโมงเช้าครับ"),
    ("สมาชิกยืมหนังสือได้ครั้งละห้าเล่มเป็นเวลาสองสัปดาห์", "ยืมหนังสือได้กี่เล่ม", "ห้าเล่ม", "ยืมได้ครั้งละห้าเล่ม"),
    ("ค่าจอดรถชั่วโมงละยี่สิบบาท ฟรีวันอาทิตย์", "ค่าจอดรถเท่าไร", "ยี่สิบบาท", "ชั่วโมงละยี่สิบบาท"),
    "ปิดสามทุ่ม",
]
HINDI = [
    ("तरणताल सुबह छह बजे खुलता है और रात नौ बजे बंद होता है।", "तरणताल कब खुलता है", "सुबह छह बजे", "यह सुबह छह बजे खुलता है।"),
    ("सदस्य एक बार में पाँच किताबें दो सप्ताह के लिए ले सकते हैं।", "सदस्य कितनी किताबें ले सकते हैं", "पाँच किताबें", "एक बार में पाँच किताबें।"),
    ("पार्किंग का किराया बीस रुपये प्रति घंटा है।", "पार्किंग का किराया कितना है", "बीस रुपये", "किराया बीस रुपये है।"),
    "रात में",
]


def jsonl(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.mark.parametrize("language", [CHINESE, THAI, HINDI], ids=["Chinese", "Thai", "Hindi"])
def test_bm25_finds_the_document_and_an_answer_with_the_expected_text_has_all_of_it(language: list[object], tmp_path: Path) -> None:
    *cases, wrong = language
    (tmp_path / "data" / "documents").mkdir(parents=True)
    questions, answers = [], []
    for number, (text, question, expected, answer) in enumerate(cases):
        (tmp_path / "data" / "documents" / f"{number}.md").write_text(text, "utf-8")
        questions.append({"query_id": f"q{number}", "query": question, "answer": expected, "relevant_doc_ids": [str(number)]})
        answers.append({"query_id": f"q{number}", "answer": answer})
    questions.append({**questions[0], "query_id": "wrong", "query": f"{questions[0]['query']}?"})
    answers.append({"query_id": "wrong", "answer": wrong})
    (tmp_path / "data" / "questions.jsonl").write_text(jsonl(questions), "utf-8")
    (tmp_path / "answers.jsonl").write_text(jsonl(answers), "utf-8")
    settings = {
        "name": "language",
        "dataset": {"kind": "golden", "path": str(tmp_path / "data")},
        "pipeline": {
            "chunking": {"kind": "whole"},
            "retrieval": {"kind": "bm25", "k": 1},
            "answering": {"kind": "recorded", "path": str(tmp_path / "answers.jsonl")},
        },
        "conditions": ["retrieved"],
        "metrics": ["recall@1", "answer_recall", "token_f1"],
    }
    table = collect(run_experiment(experiment_of(settings, "here"), tmp_path / "outputs", lambda _: None)).queries
    values = table.pivot_table(index="query_id", columns="metric", values="value")
    assert values["recall@1"].tolist() == [1] * 4
    assert values.loc[["q0", "q1", "q2"], "answer_recall"].tolist() == [1] * 3
    assert values.loc[["q0", "q1", "q2"], "token_f1"].between(0.2, 0.99).all()
    assert values.loc["wrong", "answer_recall"] < 0.5
