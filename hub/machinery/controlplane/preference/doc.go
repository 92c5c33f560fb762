// Package preference lets clients of kube-apiserver ask for smaller responses, by the header Prefer of HTTP (RFC 7240):
//
//	Prefer: return=minimal
//	Prefer: observed-spec=omit
//
// With return=minimal, a successful write of metadata only returns the resource version. An agent that reports on a
// Work asks for the Work's metadata, and only reads its version. Labels, annotations and finalizers take 600 bytes per
// report, more than the report itself; without them the response takes less than 100. A response is only trimmed if it
// is metadata of an object in protobuf, as Kubernetes clients request it; all others, including errors, are passed on
// unchanged.
//
// With observed-spec=omit, an event MODIFIED on a watch has no spec if the object's status has observed its generation:
// the writer of the status has seen that spec. Otherwise each status that an agent reports would come back to it with
// the complete Work. This is for clients that are the only writers of observedGeneration, and that resume their watches
// where they left off: such a client received the spec either in a list, or in the event that first had this
// generation, which nobody had observed then.
package preference
