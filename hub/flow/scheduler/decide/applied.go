package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
)

// maxPlacement is how long a placement may be as JSON, in bytes. Every binding of its policy contains it, besides everything else.
const maxPlacement = 256 << 10

// Shortened returns the value for the annotation applied-placement, given its current value: earlier versions wrote the whole placement,
// however long.
func Shortened(said string) string {
	if again, ok := rewritten(said); ok && len(said) > contract.MaxAppliedPlacement {
		said = again
	}
	return applied(said)
}

// applied returns the value of the annotation applied-placement for a placement, given as JSON: the placement itself, or its hash if it is
// longer than contract.MaxAppliedPlacement, so that it fits beside the other annotations.
func applied(placement string) string {
	if len(placement) <= contract.MaxAppliedPlacement {
		return placement
	}
	return digest(placement)
}

// samePlacement returns whether said, the value of applied-placement, stands for a placement given as JSON. It compares the meaning rather
// than the text: another program may have written the annotation with the keys in another order.
func samePlacement(said, placement string) bool {
	switch {
	case said == placement:
		return true
	case strings.HasPrefix(said, digested):
		return said == digest(placement)
	default:
		again, ok := rewritten(said)
		return ok && again == placement
	}
}

// rewritten returns a placement in the hub's own encoding; false if it cannot be decoded.
func rewritten(placement string) (string, bool) {
	var parsed *policyv1alpha1.Placement
	if err := json.Unmarshal([]byte(placement), &parsed); err != nil {
		return "", false
	}
	again, err := json.Marshal(parsed)
	return string(again), err == nil
}

// digested is the prefix of a hash. JSON never begins with it.
const digested = "sha256:"

func digest(placement string) string {
	sum := sha256.Sum256([]byte(placement))
	return digested + hex.EncodeToString(sum[:])
}
