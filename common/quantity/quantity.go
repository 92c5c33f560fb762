// Package quantity parses amounts of unknown origin. Those with which the Kubernetes library would compute for
// minutes are refused, and those that exceed an int64 are capped, so that an excessive request cannot count as a
// negative one.
package quantity

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Limits of a quantity as text; the patterns in the CRDs have similar ones. Amounts beyond 1e30 or below 1e-30 are
// meaningless for a node.
const (
	maxQuantity = 100
	maxExponent = 30
)

// Parse parses a quantity that passes Check.
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

// Check returns an error for a text that is too expensive to parse as a quantity: the library would write out every
// digit of 1e999999999.
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

// CheckAmount is Check for a requested or used amount, which also must not be negative: added to others' usage, it
// would make room that does not exist. A text that is no quantity passes.
func CheckAmount(text string) error {
	if err := Check(text); err != nil {
		return err
	}
	if q, err := resource.ParseQuantity(strings.TrimSpace(text)); err == nil && q.Sign() < 0 {
		return fmt.Errorf("an amount is not less than 0, but this is %s", q.String())
	}
	return nil
}

// Value returns a quantity as an integer, like the library's method, but capped where that wraps around:
// 9223372036854775807 CPUs are negative in millicores.
func Value(q resource.Quantity) int64 { return scaled(q, 0, 1) }

// MilliValue does the same in thousandths.
func MilliValue(q resource.Quantity) int64 { return scaled(q, resource.Milli, 1000) }

// scaled returns a quantity in units of 1/parts.
func scaled(q resource.Quantity, scale resource.Scale, parts int64) int64 {
	if units, ok := q.AsInt64(); ok && units <= math.MaxInt64/parts && units >= -math.MaxInt64/parts {
		return units * parts // the common case; the rest is slow if called for thousands of clusters
	}
	if q.Sign() < 0 {
		q = q.DeepCopy()
		if q.Neg(); q.Sign() < 0 {
			return -math.MaxInt64 // the smallest number has no negative
		}
		return -scaled(q, scale, parts)
	}
	if resource.NewScaledQuantity(math.MaxInt64, scale).Cmp(q) < 0 {
		return math.MaxInt64
	}
	return q.ScaledValue(scale)
}

// Seconds converts seconds to a duration, capped at some 292 years either way: larger values would wrap around, and
// somebody who wants to wait for ever would not wait at all.
func Seconds(seconds int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	return time.Duration(min(max(seconds, -most), most)) * time.Second
}

// Plus adds two numbers, capped at the largest and the smallest.
func Plus(a, b int64) int64 {
	switch sum := a + b; {
	case b > 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	default:
		return sum
	}
}

// Minus subtracts a number from another, capped likewise.
func Minus(a, b int64) int64 {
	if b == math.MinInt64 {
		return Plus(Plus(a, math.MaxInt64), 1)
	}
	return Plus(a, -b)
}

// Checked is an amount in JSON that is checked rather than decoded: before decoding amounts, decode into a struct
// with this type in their place.
type Checked struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*Checked) UnmarshalJSON(text []byte) error { return CheckAmount(string(bytes.Trim(text, `"`))) }
