// Package quantity reads amounts that somebody else wrote. Those that the library of Kubernetes
// would calculate with for minutes are refused.
package quantity

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Limits of a quantity as text; the patterns in the CRDs hold similar ones. Amounts of more
// than 1e30 or less than 1e-30 mean nothing that a node could have.
const (
	maxQuantity = 100
	maxExponent = 30
)

// Parse reads a quantity, if Check finds nothing wrong with it.
func Parse(text string) (resource.Quantity, error) {
	if err := Check(text); err != nil {
		return resource.Quantity{}, err
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, fmt.Errorf("reading a quantity: %w", err)
	}
	return q, nil
}

// Check says whether a text that may be a quantity is too much to calculate with: of
// 1e999999999 the library would write out every digit.
func Check(text string) error {
	if len(text) > maxQuantity {
		return fmt.Errorf("a quantity has at most %d characters", maxQuantity)
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		digits := strings.TrimLeft(text[at+1:], "+-")
		if digits == "" || !strings.ContainsAny(digits[:1], "0123456789") {
			return nil // E and Ei are units
		}
		if exponent, err := strconv.Atoi(digits); err != nil || exponent > maxExponent {
			return fmt.Errorf("the exponent of a quantity is at most %d", maxExponent)
		}
	}
	return nil
}

// CheckAmount is Check of what somebody requests or uses, which is not less than nothing: added
// to what others use, it would make room for them that is not there. A text that is no quantity
// is left to those who read it.
func CheckAmount(text string) error {
	if err := Check(text); err != nil {
		return err
	}
	if q, err := resource.ParseQuantity(strings.TrimSpace(text)); err == nil && q.Sign() < 0 {
		return fmt.Errorf("an amount is not less than 0, but this is %s", q.String())
	}
	return nil
}

// Checked is an amount in JSON that is not read but checked: decode into a struct that has
// it where there will be amounts, before decoding them.
type Checked struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*Checked) UnmarshalJSON(text []byte) error { return CheckAmount(string(bytes.Trim(text, `"`))) }
