"""How the offline analyst reads: questions, passages, and which sentences answer. No model, no network, no corpus."""
