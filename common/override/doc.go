// Package override makes of a template what one cluster is to get, as the override
// policies say. It is pure: objects and policies in, the changed object and the list
// of what was applied out.
//
// The order is what decides who wins, and the last one does: the
// ClusterOverridePolicies before the OverridePolicies of the template's namespace;
// within each, those that name the template more precisely later, then by name; within
// a policy its rules in order; within a rule image, command, args, labels, annotations,
// field, plaintext. Each sees the result of those before it.
package override
