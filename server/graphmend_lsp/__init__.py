"""GraphMend: see, mend and prove torch.compile graph breaks."""

__version__ = "0.1.0"
