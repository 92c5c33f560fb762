// Package interpreter answers what an object means: how many replicas it asks for,
// what of it belongs to the member, what its status says, whether it is healthy.
//
// An Interpreter is a chain of layers; the first layer that has a rule for the kind
// and the operation answers, and its error is final:
//
//  1. declarative: the scripts of ResourceInterpreterCustomizations, in package lua
//  2. webhooks of ResourceInterpreterWebhookConfigurations, in package webhook
//  3. shipped: scripts for widely used custom resources, in package thirdparty
//  4. native: Go code for the kinds of Kubernetes, in package native
//
// The first two come from the hub's API and change while we run: package store watches
// them, compiles them when they change, and swaps the whole table at once. An error is
// final because the next layer would answer a question that its author meant to answer
// differently, and nobody would notice.
//
// Health is always wanted, rule or no rule: for a kind without one, ConventionalHealth reads it
// from the status.
//
// Packages store and webhook talk to API servers and webhooks; all others are pure.
package interpreter
