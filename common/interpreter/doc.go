// Package interpreter answers questions about objects of any kind: how many replicas an object requests, which of its
// fields belong to the member, what its status means, whether it is healthy.
//
// An Interpreter is a chain of layers; the first layer that has a rule for the kind and the operation answers, and
// its error is final:
//
//  1. declarative: the scripts of ResourceInterpreterCustomizations, in package lua
//  2. webhooks of ResourceInterpreterWebhookConfigurations, in package webhook
//  3. shipped: scripts for widely used custom resources, in package thirdparty
//  4. native: Go code for the kinds of Kubernetes, in package native
//
// The first two come from the hub's API and change at runtime: package store watches them, compiles them when they
// change, and replaces the whole table atomically. An error is final because the next layer would answer differently
// from what the rule's author intended, and nobody would notice.
//
// Health is always needed, with or without a rule: for a kind without one, ConventionalHealth derives it from the
// status.
//
// Packages store and webhook talk to API servers and webhooks; all others are pure.
package interpreter
