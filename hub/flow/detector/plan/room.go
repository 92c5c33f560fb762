package plan

import (
	"encoding/json"
	"fmt"
)

// How much of a binding what others ask for may take, in bytes of JSON. The API stores 1.5 MiB of it, and refuses a write of more as a whole:
// that an application leaves a cluster must have room beside all that a tenant writes, 256 KiB of annotations, and what clusters report.
const (
	maxOfPolicy = 288 << 10
	maxOfDemand = 64 << 10
)

// TooLarge says what of a binding would take more room than there is for it, and what to do; empty if there is room.
func (d Desired) TooLarge() string {
	if n := size(d.Policy.Placement, d.Policy.Failover, d.Policy.Suspension); n > maxOfPolicy {
		return fmt.Sprintf("placement, failover and suspension of the policy take %d bytes as JSON, and the binding has room for %d: select clusters by labels, or name fewer", n, maxOfPolicy)
	}
	if n := size(d.Requirements, d.Components); n > maxOfDemand {
		return fmt.Sprintf("the requests and node constraints of the template's pods take %d bytes as JSON, and the binding has room for %d: shorten them", n, maxOfDemand)
	}
	return ""
}

// size is how many bytes of JSON some values take.
func size(values ...any) int {
	n := 0
	for _, v := range values {
		data, err := json.Marshal(v)
		if err != nil {
			continue // what cannot be encoded is not written either
		}
		n += len(data)
	}
	return n
}
