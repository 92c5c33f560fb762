// Package override derives from a template what one cluster gets, according to override policies. It is pure: objects
// and policies in, the changed object and the list of applied rules out.
//
// The order decides which policy wins, since the last one does: first the ClusterOverridePolicies, then the
// OverridePolicies of the template's namespace; within each, policies that name the template more precisely come
// later, then sorted by name; within a policy its rules in order; within a rule image, command, args, labels,
// annotations, field, plaintext. Each sees the result of those before it.
package override
