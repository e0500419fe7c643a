# Runs the generators at configure time; the build configures again when one of their inputs changes.

macro(infini_ops_generate)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import yaml" RESULT_VARIABLE absent ERROR_QUIET)
  if(absent)
    infini_ops_forget_python()
    message(FATAL_ERROR "The generators need PyYAML: ${Python_EXECUTABLE} -m pip install pyyaml")
  endif()
  set(INFINI_OPS_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
  set(codegen_arguments --root ${PROJECT_SOURCE_DIR} --output ${INFINI_OPS_GENERATED_DIR}
    --version ${PROJECT_VERSION} --rt-abi-version ${INFINI_RT_ABI_VERSION}
    --architecture ${CMAKE_SYSTEM_PROCESSOR})
  foreach(backend CPU SIM ${INFINI_OPS_GPU_BACKENDS})
    if(WITH_${backend})
      string(TOLOWER ${backend} lower)
      list(APPEND codegen_arguments --device ${lower})
    endif()
  endforeach()
  if(INFINI_OPS_SMOKE_BUILD)
    list(APPEND codegen_arguments --smoke)
    if(NOT INFINI_OPS_OPS STREQUAL "")
      message(STATUS "InfiniOps: INFINI_OPS_OPS is given, so INFINI_OPS_SMOKE_BUILD has no effect")
    endif()
  endif()
  if(WITH_LINKED)
    list(APPEND codegen_arguments --linked)
  endif()
  if(NOT GENERATE_OPERATOR_CALL_INSTANTIATIONS)
    list(APPEND codegen_arguments --no-cpp-entries)
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
      ${Python_EXECUTABLE} -m codegen ${codegen_arguments}
      # Quoted, since a semicolon in them is theirs.
      "--ops=${INFINI_OPS_OPS}" "--torch-ops=${INFINI_OPS_TORCH_OPS}"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE codegen_output ERROR_VARIABLE codegen_error RESULT_VARIABLE codegen_failed
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  if(codegen_failed)
    message(FATAL_ERROR "${codegen_error}")
  endif()
  message(STATUS "InfiniOps: ${codegen_output}")
  include(${INFINI_OPS_GENERATED_DIR}/sources.cmake)
  foreach(list SOURCES BINDINGS LARGE_KERNELS)
    list(TRANSFORM INFINI_OPS_GENERATED_${list} PREPEND ${INFINI_OPS_GENERATED_DIR}/)
  endforeach()
  list(TRANSFORM INFINI_OPS_GENERATOR_INPUTS PREPEND ${PROJECT_SOURCE_DIR}/)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${INFINI_OPS_GENERATOR_INPUTS} ${PROJECT_SOURCE_DIR}/src/base ${PROJECT_SOURCE_DIR}/src/native/cpu/ops)
  # An ops.json that appears or goes changes the time of its folder.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${INFINI_OPS_SELECTION_INPUTS} ${PROJECT_SOURCE_DIR})
endmacro()

# Compiles the sources of `target` several at a time, save the large kernels: most of the time of a small source goes
# to headers.
function(infini_ops_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# Compiles the kernels for each instruction set with its own flags, at -O3 in every build type: a slow kernel is of no
# use in a debug build either, and inlining keeps their code inside their namespace. The objects become sources of the
# interface library `parts`.
function(infini_ops_add_kernels parts)
  set_source_files_properties(${INFINI_OPS_GENERATED_LARGE_KERNELS} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(flags_baseline "")
  set(flags_neon "")
  set(flags_avx2 -mavx2 -mfma -mf16c)
  set(flags_avx512 ${flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
  # Every processor with the bf16 dot has the 8-bit one.
  set(flags_avx512_bf16 ${flags_avx512} -mavx512bf16 -mavx512vnni)
  foreach(kernel_set ${INFINI_OPS_GENERATED_KERNEL_SETS})
    set(sources ${INFINI_OPS_GENERATED_KERNELS_${kernel_set}})
    if(NOT sources)
      continue()
    endif()
    list(TRANSFORM sources PREPEND ${INFINI_OPS_GENERATED_DIR}/)
    set(kernels infiniops_kernels_${kernel_set})
    add_library(${kernels} OBJECT ${sources})
    infini_ops_compile_together(${kernels})
    infini_ops_set_compile_rules(${kernels})
    target_compile_features(${kernels} PRIVATE cxx_std_20)
    target_include_directories(${kernels} PRIVATE src)
    target_link_libraries(${kernels} PRIVATE InfiniRT::infinirt)
    # No contraction: whether a product is fused must not depend on how a loop was unrolled. No errno, no traps: both
    # would keep loops with sqrt or comparisons from being vectorised.
    target_compile_options(${kernels} PRIVATE -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math
      ${flags_${kernel_set}})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # How wide vectors are passed differs between instruction sets, but none leaves its own set's code.
      target_compile_options(${kernels} PRIVATE -Wno-psabi)
    endif()
    if(kernel_set MATCHES "avx512" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # GCC bug 105593: a false alarm inside the intrinsics' headers.
      target_compile_options(${kernels} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
    endif()
    target_sources(${parts} INTERFACE $<TARGET_OBJECTS:${kernels}>)
  endforeach()
endfunction()
