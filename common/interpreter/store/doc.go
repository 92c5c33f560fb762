// Package store assembles the layers of the interpreter: those that are built in, and above them
// those that come from the hub's API.
//
// It reads ResourceInterpreterCustomizations and ResourceInterpreterWebhookConfigurations,
// makes layers of them when they change, never per question, and swaps the whole table at
// once. Load fills it before the stages start; Follow keeps it up to date and tells the
// subscribers which kinds mean something else now.
package store
