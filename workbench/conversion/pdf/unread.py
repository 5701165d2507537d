"""The parts of a PDF's page that are not read: images, fields of forms and annotations."""

from dataclasses import dataclass
from typing import Any

# A scan fills most of its page, and an image of less of it is a rule, a bullet or a strip of another image.
_SCAN, _LEAST = 0.5, 0.002
# Where forms and groups are nested deeper, images are not looked for.
_DEEPEST = 8


@dataclass(frozen=True)
class UnreadParts:
    """The numbers of a page's images, form fields and other annotations, and whether an image is as large as a scan of the page."""

    images: int
    fields: int
    annotations: int
    is_scan: bool


def unread_parts(page: Any) -> UnreadParts:
    """Count the parts of a page that are not read. Links are not counted."""
    from pypdfium2 import raw

    width, height = page.get_size()
    shares = [_area(image.get_bounds()) / max(width * height, 1.0) for image in page.get_objects((raw.FPDF_PAGEOBJ_IMAGE,), _DEEPEST)]
    kinds = [_kind(page, number) for number in range(raw.FPDFPage_GetAnnotCount(page))]
    # A pop-up window belongs to another annotation.
    beside = (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP)
    return UnreadParts(
        images=sum(share >= _LEAST for share in shares),
        fields=kinds.count(raw.FPDF_ANNOT_WIDGET),
        annotations=sum(kind not in beside for kind in kinds),
        is_scan=any(share >= _SCAN for share in shares),
    )


def _kind(page: Any, number: int) -> int:
    from pypdfium2 import raw

    annotation = raw.FPDFPage_GetAnnot(page, number)
    kind = int(raw.FPDFAnnot_GetSubtype(annotation))
    raw.FPDFPage_CloseAnnot(annotation)
    return kind


def _area(bounds: tuple[float, float, float, float]) -> float:
    left, bottom, right, top = bounds
    return max(right - left, 0.0) * max(top - bottom, 0.0)
