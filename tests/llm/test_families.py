from workbench.llm.families import model_family


def test_names_on_servers_and_of_files_belong_to_a_family() -> None:
    families = {
        "gpt": "gpt-5-mini gpt-4.1 gpt4o chatgpt-4o-latest openai/gpt-oss-20b o3-mini o1 openai/o4-mini gpt2",
        "claude": "claude-sonnet-4-5 us.anthropic.claude-3-5-haiku anthropic/claude-opus-4",
        "llama": "llama3.2:3b meta-llama/Llama-3.1-8B-Instruct Meta-Llama-3-8B.Q4_K_M.gguf codellama:7b tinyllama vicuna-13b",
        "qwen": "qwen3:4b Qwen/Qwen2.5-7B-Instruct qwen2.5-coder-1.5b-instruct-q4_0.gguf qwq-32b",
        "gemma": "gemma-3-270m-it google/gemma-2-9b",
        "gemini": "gemini-2.5-pro google/gemini-2.0-flash",
        "mistral": "mistral-small-latest mistralai/Mixtral-8x7B ministral-8b codestral-2508 magistral-medium dolphin-mixtral",
        "deepseek": "deepseek-chat deepseek-r1-distill-llama-8b DeepSeek-R1-Distill-Qwen-1.5B",
        "phi": "phi-4 phi4-mini microsoft/Phi-3.5-mini-instruct",
        "smollm": "SmolLM2-135M-Instruct.Q4_1.gguf",
        "command": "command-r-plus command-a-03-2025 c4ai-aya-expanse",
        "grok": "grok-4",
        "": "words my-model dolphin chronos-1 llama.cpp overlap extractive local box-o2x all-MiniLM-L6-v2",
    }
    assert {family: {name: model_family(name) for name in names.split()} for family, names in families.items()} == {
        family: dict.fromkeys(names.split(), family) for family, names in families.items()
    }


def test_no_name_has_no_family() -> None:
    assert model_family("") == ""
