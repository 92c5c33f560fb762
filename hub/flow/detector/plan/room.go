package plan

import (
	"encoding/json"
	"fmt"
)

// Limits, in bytes of JSON, for the parts of a binding that users determine. The API server stores at most 1.5 MiB per object and rejects
// larger writes as a whole. Beside what a tenant writes, 256 KiB of annotations and the reports of clusters, there must be room to record
// that an application leaves a cluster.
const (
	maxOfPolicy = 288 << 10
	maxOfDemand = 64 << 10
)

// TooLarge returns which part of a binding is larger than its limit and what to do; empty if none is.
func (d Desired) TooLarge() string {
	if n := size(d.Policy.Placement, d.Policy.Failover, d.Policy.Suspension); n > maxOfPolicy {
		return fmt.Sprintf("placement, failover and suspension of the policy take %d bytes as JSON, and the binding has room for %d: select clusters by labels, or name fewer", n, maxOfPolicy)
	}
	if n := size(d.Requirements, d.Components); n > maxOfDemand {
		return fmt.Sprintf("the requests and node constraints of the template's pods take %d bytes as JSON, and the binding has room for %d: shorten them", n, maxOfDemand)
	}
	return ""
}

// size returns the size of some values as JSON, in bytes.
func size(values ...any) int {
	n := 0
	for _, v := range values {
		data, err := json.Marshal(v)
		if err != nil {
			continue // a value that cannot be encoded is not written either
		}
		n += len(data)
	}
	return n
}
