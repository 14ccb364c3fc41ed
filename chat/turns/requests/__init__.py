"""What a model is asked: the plan of a request, a history shortened for it, and requests beside the conversation."""
