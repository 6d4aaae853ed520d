import torch
x = torch.rand(3, 7, 200, dtype=torch.float16)
y = x.to("spyre")
stl = y.device_tensor_layout()
print(stl)
