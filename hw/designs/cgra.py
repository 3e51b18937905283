"""The array and its system, without an application or with one from a design directory."""

from __future__ import annotations

from hw.designs.directory import DesignImage
from hw.designs.parameters import fabric_parameters, fabric_spec
from hw.designs.system import SystemDesign
from hw.fabric.config import ArrayConfig
from hw.fabric.control_registers import control_registers
from hw.fabric.driver import RunPlan
from hw.fabric.image import configuration_image, image_length
from hw.fabric.spec import FabricSpec
from hw.fabric.system import SYSTEM_MODULE, emit_system

__all__ = ["cgra_design", "idle_image"]

_IDLE_CYCLES = 16
_IDLE_MEMORY = 4096


def idle_image(spec: FabricSpec) -> DesignImage:
    """A run of an array in which every unit is off: it loads a configuration that says so and counts some cycles."""
    configuration = ArrayConfig().words(spec)
    plan = RunPlan(
        config_address=0,
        config_words=image_length(len(configuration)),
        period=_IDLE_CYCLES,
        tiles=1,
        run_cycles=_IDLE_CYCLES,
    )
    return DesignImage(
        name="cgra",
        array=str(spec),
        configuration=tuple(configuration),
        plan=tuple(plan.writes(control_registers(spec))),
        memory=((0, configuration_image(configuration)),),
        outputs=(),
        memory_bytes=_IDLE_MEMORY,
        parameters=fabric_parameters(spec),
    )


def cgra_design(image: DesignImage) -> SystemDesign:
    """The Verilog of the array that `image` is for, and its registers. Raises `DesignError`."""
    spec = fabric_spec(image)
    return SystemDesign(image, control_registers(spec), SYSTEM_MODULE, emit_system(spec))
