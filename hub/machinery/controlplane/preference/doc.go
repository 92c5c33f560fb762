// Package preference has kube-apiserver leave out of its answers to writes what the client has no use for, and says so, in the words
// of HTTP (RFC 7240):
//
//	Prefer: return=minimal
//
// An agent that reports what came of a Work asks for that Work's metadata, of which it reads the version. Labels, annotations and
// finalizers are 600 bytes for each report, more than the report itself; without them the answer has less than 100.
//
// An answer is made smaller only if it is the metadata of an object in protobuf, as clients of Kubernetes ask for it, and the write
// has succeeded. All others, errors among them, pass as they are, as they do for who says nothing.
package preference
