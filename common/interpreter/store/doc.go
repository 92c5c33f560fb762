// Package store assembles the layers of the interpreter: the built-in ones, and above them those that come from the
// hub's API.
//
// It reads ResourceInterpreterCustomizations and ResourceInterpreterWebhookConfigurations, builds layers from them
// when they change, never per question, and replaces the whole table atomically. Load fills it before the stages
// start; Follow keeps it up to date and tells the subscribers which kinds are affected by a change.
package store
