// Package thirdparty has interpreter rules for widely used custom resources.
//
// The rules are customizations like those of users, written in Lua, in the folder
// rules/<group>/<version>/<Kind>/rules.yaml; versions with the same rules share a folder, whose name lists them
// separated by commas. Common code is in rules.lua, which rules require by the name "rules". Beside each rules.yaml
// are its cases, which one test runs: CONTRIBUTING.md says how to add a kind.
//
// The rules of a kind are read and compiled on first use: a process that never meets the kind does not pay for it.
package thirdparty
