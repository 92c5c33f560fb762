// Command demo is what `make demo`, `make demo-up` and `make demo-down` run: a hub and
// members on this machine, as processes that stay when it ends, and the examples on them.
package main
