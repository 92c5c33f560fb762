package presence

import (
	"maps"
	"strings"
	"time"

	"fairlead.dev/common/contract"
)

// refusedFor is how long an annotation that the hub refused is left out before the agent tries it again: a hub that
// is starting may briefly refuse an annotation that it knows.
const refusedFor = time.Minute

// Trust names certificate authorities by their hashes.
type Trust struct {
	// Authorities are the hashes of the certificate authorities that the agent trusts.
	Authorities []string
	// Issuer is the authority of the agent's own certificate; empty if the agent does not trust it.
	Issuer string
}

// pendingAnnotations returns the annotations that have to change on the Lease.
func (r *leaseRenewer) pendingAnnotations() map[string]string {
	annotations := map[string]string{contract.SessionAnnotation: r.session}
	if r.refused > 0 && r.clock.Since(r.refusedAt) >= refusedFor {
		r.refused = 0
	}
	left := r.refused
	if r.trust != nil && left > 0 {
		left--
	} else if r.trust != nil {
		if trust := r.trust(); len(trust.Authorities) > 0 {
			annotations[contract.TrustAnnotation] = strings.Join(trust.Authorities, ",")
			annotations[contract.IssuerAnnotation] = trust.Issuer
		}
	}
	if r.version != "" && left == 0 {
		annotations[contract.AgentVersionAnnotation] = r.version
	}
	maps.DeleteFunc(annotations, func(key, value string) bool { return r.seen[key] == value })
	return annotations
}

// dropAnnotation leaves out one more annotation, the most recently introduced first, after an older hub refused them:
// the heartbeat matters more. It returns false if there was none left.
func (r *leaseRenewer) dropAnnotation() bool {
	var more int
	if r.trust != nil {
		more++
	}
	if r.version != "" {
		more++
	}
	if r.refused >= more {
		return false
	}
	r.refused++
	r.refusedAt = r.clock.Now()
	return true
}
