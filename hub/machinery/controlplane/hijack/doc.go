// Package hijack keeps small what a connection that a client of kube-apiserver has upgraded takes while nothing passes. The handlers
// behind take such connections over, which net/http calls to hijack them.
//
// Who forwards such a connection copies by io.Copy, which holds 32 KiB for each direction until the connection ends. Here it
// waits with little, and borrows more while much passes.
//
// Lines of agents last for days, and there is one for each cluster. What the server keeps for their requests as well, which is a
// stack as deep as its chain of filters, buffers and headers, goes once they are open: their requests end then, and the audit log
// tells of them when they open and not when they end. Authentication and authorization come before that.
package hijack
