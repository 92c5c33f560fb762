// Package quantity reads amounts that somebody else wrote. Those that the library of Kubernetes
// would calculate with for minutes are refused, and those that are more than a number holds are
// the largest number, so that nobody asks for so much that it counts as less than nothing.
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

// Value is the library's own of a quantity, but the largest number, or the negative of that, where
// the library's wraps around: 9223372036854775807 CPUs are less than nothing in its thousandths.
func Value(q resource.Quantity) int64 { return scaled(q, 0, 1) }

// MilliValue is likewise that in thousandths.
func MilliValue(q resource.Quantity) int64 { return scaled(q, resource.Milli, 1000) }

// scaled returns a quantity in parts of which a unit has so many.
func scaled(q resource.Quantity, scale resource.Scale, parts int64) int64 {
	if units, ok := q.AsInt64(); ok && units <= math.MaxInt64/parts && units >= -math.MaxInt64/parts {
		return units * parts // most of them: what is below is slow for who asks of thousands of clusters
	}
	if q.Sign() < 0 {
		q = q.DeepCopy()
		if q.Neg(); q.Sign() < 0 {
			return -math.MaxInt64 // of the smallest number there is no negative
		}
		return -scaled(q, scale, parts)
	}
	if resource.NewScaledQuantity(math.MaxInt64, scale).Cmp(q) < 0 {
		return math.MaxInt64
	}
	return q.ScaledValue(scale)
}

// Seconds is so many seconds, but at most as many whole ones as a duration holds, some 292 years, and
// as few: more would wrap around, and who writes them to wait for ever would not wait at all.
func Seconds(seconds int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	return time.Duration(min(max(seconds, -most), most)) * time.Second
}

// Plus adds two numbers, and stops at the largest and the smallest.
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

// Minus takes a number off another, likewise.
func Minus(a, b int64) int64 {
	if b == math.MinInt64 {
		return Plus(Plus(a, math.MaxInt64), 1)
	}
	return Plus(a, -b)
}

// Checked is an amount in JSON that is not read but checked: decode into a struct that has
// it where there will be amounts, before decoding them.
type Checked struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*Checked) UnmarshalJSON(text []byte) error { return CheckAmount(string(bytes.Trim(text, `"`))) }
