"""Encoders in folders of Hugging Face with safetensors, computed by the package transformers."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trubleu.errors import DataError
from trubleu.files.paths import read_whole
from trubleu.optional_deps import needed
from trubleu.vectors.encoders.pieces import PieceEncoder, read_settings

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from trubleu.vectors.source import Matrix

_REQUIREMENT = "transformers torch"


class TransformersEncoder(PieceEncoder):
    """An encoder that transformers and torch compute in 32-bit floats.

    Parameters
    ----------
    folder
        Its folder.
    settings
        As for `PieceEncoder`.
    """

    def __init__(self, folder: Path, **settings: Any) -> None:
        super().__init__(**settings)
        self._torch = needed("torch", "an encoder in safetensors", _REQUIREMENT)
        self._package = needed("transformers", "an encoder in safetensors", _REQUIREMENT)
        try:
            # No code from the folder, and nothing from the network.
            self._model = self._package.AutoModel.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False, use_safetensors=True, dtype="float32"
            ).eval()
        except Exception as error:  # the package's own exceptions, of many kinds
            reason = " ".join(str(error).split())[:200]
            raise DataError(
                f"{folder} is not an encoder that transformers can read ({reason}); download it again"
            ) from error
        self.one_by_one = not self.batches_alike()

    @classmethod
    def read(cls, folder: Path, window: int) -> Self:
        """Read a folder with a tokenizer and a model."""
        digest = hashlib.sha256()
        for file in sorted(folder.glob("*.safetensors")):
            digest.update(read_whole(file))
        return cls(
            folder,
            name=folder.name,
            settings=read_settings(folder, window),
            weights_hash=digest.hexdigest(),
            place=str(folder),
            baseline_file=folder / "trubleu-baseline.json",
        )

    @property
    def runtime(self) -> str:
        """The versions of transformers and torch."""
        return f"transformers-{self._package.__version__}-torch-{self._torch.__version__}"

    @property
    def precision(self) -> str:
        """Weights are read as 32-bit floats."""
        return "float32"

    def _states(self, ids: NDArray[np.int64], threads: int) -> Matrix:
        torch = self._torch
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            with torch.inference_mode():
                given = torch.from_numpy(np.ascontiguousarray(ids))
                found = self._model(input_ids=given, attention_mask=torch.ones_like(given)).last_hidden_state
        except Exception as error:  # of the model's own code
            reason = " ".join(str(error).split())[:200]
            raise DataError(f"{self.name} cannot encode texts ({reason}); use another encoder") from error
        finally:
            torch.set_num_threads(before)
        return np.asarray(found.numpy(), np.float32)
