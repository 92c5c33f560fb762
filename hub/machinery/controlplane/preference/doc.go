// Package preference has kube-apiserver leave out of its answers what the client has no use for, and says so, in the words of HTTP
// (RFC 7240):
//
//	Prefer: return=minimal
//	Prefer: observed-spec=omit
//
// An agent that reports what came of a Work asks for that Work's metadata, of which it reads the version. Labels, annotations and
// finalizers are 600 bytes for each report, more than the report itself; without them the answer has less than 100.
//
// An answer is made smaller only if it is the metadata of an object in protobuf, as clients of Kubernetes ask for it, and the write
// has succeeded. All others, errors among them, pass as they are, as they do for who says nothing.
//
// What an agent reports of a Work comes back to it on its watch with all of that Work. Of an object whose status says that this
// generation of it was observed, an event MODIFIED has no spec: whoever wrote that status has seen it. It is for clients that are the
// only ones to write observedGeneration, and go on with their watches where they were: to them the event that brought the generation
// came whole, since nobody had observed it then, or a list had it.
package preference
