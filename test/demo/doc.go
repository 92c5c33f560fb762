// Command demo implements `make demo`, `make demo-up` and `make demo-down`: it runs a hub and members on this machine
// as processes that outlive it, and applies the examples to them.
package main
