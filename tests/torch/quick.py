"""What PyTorch does besides, that takes much of the time of a test and that no test is about."""
import torch

# A seed for devices that this PyTorch has not is kept until they come, each time with the text of the whole stack: most
# of the time of a sample of an operator.
for absent in (torch.cuda, torch.xpu, torch.mtia):
    if not absent.is_available():
        absent.manual_seed_all = lambda seed: None

# Dynamo empties the caches of the processor to time the guards of each graph, and logs the time: 27 ms.
torch._C._dynamo.guards.profile_guard_manager = lambda *guards: 0.0
