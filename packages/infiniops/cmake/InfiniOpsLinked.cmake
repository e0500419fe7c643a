# The linked backend: proves the contracts of src/linked by linked-resolver, and links what it found.

# Proves the selected contracts; includes their manifest, and finds torch where a transport needs it.
macro(infini_ops_resolve_linked)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import linked_resolver" RESULT_VARIABLE absent ERROR_QUIET)
  if(absent)
    message(FATAL_ERROR
      "WITH_LINKED=ON needs the Python package linked-resolver in the environment of the providers: "
      "${Python_EXECUTABLE} -m pip install linked-resolver. With pip and uv, build there by --no-build-isolation.")
  endif()
  set(linked_devices "")
  foreach(backend CPU ${INFINI_OPS_GPU_BACKENDS})
    if(WITH_${backend})
      string(TOLOWER ${backend} lower)
      list(APPEND linked_devices --device ${lower})
    endif()
  endforeach()
  set(linked_folder ${INFINI_OPS_GENERATED_DIR}/linked)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
      ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/resolve_linked_ops.py ${linked_devices}
      --output ${linked_folder} --ops ${INFINI_OPS_GENERATED_DIR}/selection.json --project ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE linked_output ERROR_VARIABLE linked_error RESULT_VARIABLE linked_failed
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  if(linked_failed)
    message(FATAL_ERROR "linked-resolver (see ${linked_folder}/diagnostics.json):\n${linked_error}")
  endif()
  message(STATUS "InfiniOps: ${linked_output}")
  include(${linked_folder}/manifest.cmake)
  if(NOT INFINI_LINKED_MANIFEST_SCHEMA EQUAL 1)
    message(FATAL_ERROR "linked-resolver writes manifests of schema ${INFINI_LINKED_MANIFEST_SCHEMA}; this build reads 1.")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${INFINI_LINKED_INPUTS})
  set(INFINI_LINKED_TORCH_DIR "")
  if("torch" IN_LIST INFINI_LINKED_TRANSPORTS)
    infini_ops_find_torch_for_linked()
  endif()
endmacro()

# Sets INFINI_LINKED_TORCH_DIR and INFINI_LINKED_TORCH_ABI: the installed package, and its std::string.
function(infini_ops_find_torch_for_linked)
  execute_process(COMMAND ${Python_EXECUTABLE} -c
      "import os, torch; print(os.path.dirname(torch.__file__), int(torch._C._GLIBCXX_USE_CXX11_ABI), sep=';')"
    OUTPUT_VARIABLE found ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE absent)
  if(absent)
    message(FATAL_ERROR "Linked operators of the torch transport need the Python package torch: "
      "${Python_EXECUTABLE} -m pip install torch")
  endif()
  list(GET found 0 folder)
  list(GET found 1 abi)
  set(INFINI_LINKED_TORCH_DIR ${folder} PARENT_SCOPE)
  set(INFINI_LINKED_TORCH_ABI ${abi} PARENT_SCOPE)
endfunction()

# Keeps a library that no symbol is taken from, and leaves the linker's state as it was.
set(CMAKE_LINK_LIBRARY_USING_infini_ops_retain
  "LINKER:--push-state,--no-as-needed" "<LINK_ITEM>" "LINKER:--pop-state")
set(CMAKE_LINK_LIBRARY_USING_infini_ops_retain_SUPPORTED TRUE)

# Compiles the adapters into libinfiniops_linked, which alone needs the providers: importing infini.ops would else load
# them, and PyTorch with them. It lies beside the library that holds the operators, which loads it by that place.
function(infini_ops_add_linked)
  if(NOT INFINI_LINKED_SOURCES)
    return()
  endif()
  add_library(infiniops_linked SHARED ${INFINI_LINKED_SOURCES} ${INFINI_OPS_GENERATED_DIR}/linked_table.cc)
  infini_ops_set_compile_rules(infiniops_linked)
  target_compile_features(infiniops_linked PRIVATE cxx_std_20)
  target_include_directories(infiniops_linked PRIVATE include ${INFINI_OPS_GENERATED_DIR}/include src)
  target_link_libraries(infiniops_linked PRIVATE InfiniRT::infinirt)
  target_include_directories(infiniops_linked SYSTEM PRIVATE ${INFINI_LINKED_INCLUDE_DIRECTORIES})
  # Compiles anew for another release of a provider: its headers may be older than the objects, since some installers
  # keep the times of files.
  string(SHA256 providers "${INFINI_LINKED_PROVIDERS}")
  target_compile_definitions(infiniops_linked PRIVATE INFINI_OPS_LINKED_PROVIDERS="${providers}")
  target_link_options(infiniops_linked PRIVATE -Wl,-z,now)
  if(NOT INFINI_OPS_SANITIZE)
    target_link_options(infiniops_linked PRIVATE -Wl,--no-undefined)
  endif()
  set(folders ${INFINI_LINKED_RPATH})
  if(INFINI_LINKED_TORCH_DIR)
    target_include_directories(infiniops_linked SYSTEM PRIVATE ${INFINI_LINKED_TORCH_DIR}/include
      ${INFINI_LINKED_TORCH_DIR}/include/torch/csrc/api/include)
    target_compile_definitions(infiniops_linked PRIVATE _GLIBCXX_USE_CXX11_ABI=${INFINI_LINKED_TORCH_ABI})
    list(APPEND folders ${INFINI_LINKED_TORCH_DIR}/lib)
    target_link_directories(infiniops_linked PRIVATE ${INFINI_LINKED_TORCH_DIR}/lib)
    # Providers need libtorch and have no run path to it: a library that ours names is there for them too.
    target_link_libraries(infiniops_linked PRIVATE -l:libtorch_cpu.so -l:libc10.so
      "$<LINK_LIBRARY:infini_ops_retain,-l:libtorch.so>")
  endif()
  foreach(library IN LISTS INFINI_LINKED_LIBRARIES)
    set(item ${library})
    if(library IN_LIST INFINI_LINKED_UNNAMED_LIBRARIES)
      # By its path it would be recorded with its folder, since it has no name of its own.
      cmake_path(GET library PARENT_PATH folder)
      cmake_path(GET library FILENAME file)
      target_link_directories(infiniops_linked PRIVATE ${folder})
      set(item -l:${file})
    endif()
    if(library IN_LIST INFINI_LINKED_RETAINED_LIBRARIES)
      set(item "$<LINK_LIBRARY:infini_ops_retain,${item}>")
    endif()
    target_link_libraries(infiniops_linked PRIVATE ${item})
  endforeach()
  # Where it finds its providers; and it is linked again when one of them changes.
  set_target_properties(infiniops_linked PROPERTIES
    BUILD_RPATH "${folders}" LINK_DEPENDS "${INFINI_LINKED_LIBRARIES}")
endfunction()

# Installs the library of linked implementations beside the one that holds the operators; `run_path` is that of the
# latter.
function(infini_ops_install_linked destination run_path)
  if(NOT TARGET infiniops_linked)
    return()
  endif()
  get_target_property(folders infiniops_linked BUILD_RPATH)
  set_target_properties(infiniops_linked PROPERTIES INSTALL_RPATH "${run_path};${folders}")
  install(TARGETS infiniops_linked LIBRARY DESTINATION ${destination})
endfunction()
