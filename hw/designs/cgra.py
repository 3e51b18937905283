"""The array and its system, without an application or with one from a design directory."""

from __future__ import annotations

from dataclasses import replace

from hw.designs.directory import DesignImage
from hw.designs.parameters import fabric_parameters, fabric_spec
from hw.designs.system import SystemDesign
from hw.fabric.control_registers import control_registers
from hw.fabric.driver import RunPlan
from hw.fabric.image import configuration_image, image_length
from hw.fabric.spec import FabricSpec
from hw.fabric.system import emit_system

__all__ = ["cgra_design", "idle_image"]

_IDLE_CYCLES = 16


def idle_image(spec: FabricSpec) -> DesignImage:
    """A run of an array in which every unit is disabled: it loads an empty configuration and counts some cycles."""
    plan = RunPlan(
        config_address=0, config_words=image_length(0), period=_IDLE_CYCLES, tiles=1, run_cycles=_IDLE_CYCLES
    )
    contents = configuration_image([])
    return DesignImage(
        name="cgra",
        array=str(spec),
        configuration=(),
        plan=tuple(plan.writes(_registers(spec))),
        memory=((0, contents),),
        outputs=(),
        memory_bytes=4096,
        parameters=fabric_parameters(spec),
    )


def cgra_design(image: DesignImage) -> SystemDesign:
    """The Verilog of the array that `image` is for, and its registers. Raises `DesignError`."""
    spec = fabric_spec(image)
    return SystemDesign(image=replace(image), registers=_registers(spec), module="cgra_system",
                        sources=emit_system(spec))  # fmt: skip


def _registers(spec: FabricSpec):
    return control_registers(spec.rows, spec.columns, spec.glb.half_words)
