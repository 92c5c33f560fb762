// Package revocation ends what is open on a Kubernetes API for somebody whose rights were
// taken away: an API server looks at the rights behind a watch when it begins, and never again.
//
// When a subject leaves a role binding, or the binding goes, all open watches of that subject
// end. Whoever still has the right opens the next one; nobody else can.
package revocation
