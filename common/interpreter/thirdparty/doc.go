// Package thirdparty knows what widely used custom resources mean.
//
// Their rules are customizations like those of users, written in Lua, in the folder
// rules/<group>/<version>/<Kind>/rules.yaml; versions that share their rules share a
// folder, whose name lists them with commas. What several rules need is in rules.lua,
// which they require by the name "rules". Beside each rules.yaml are its cases, which
// one test runs: how to add a kind is in CONTRIBUTING.md.
//
// The rules of a kind are read and compiled when the kind is met for the first time: a
// process that never meets it does not pay for it.
package thirdparty
