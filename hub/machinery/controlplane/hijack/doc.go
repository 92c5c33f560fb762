// Package hijack reduces the memory of idle connections that clients of kube-apiserver have upgraded, which handlers
// take over by http.Hijacker.
//
// A proxy of such a connection uses io.Copy, which holds 32 KiB for each direction until the connection ends. Here it
// waits with a small buffer, and borrows a larger one while much data passes.
//
// Lines of agents last for days, and there is one for each cluster. Their requests also hold a stack as deep as the
// server's filter chain, buffers and headers. So these requests are made to end once the line is open, which frees all
// that; the audit log therefore records them when they open and not when they end. Authentication and authorization
// come before that.
package hijack
