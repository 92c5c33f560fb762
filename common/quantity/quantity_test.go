package quantity_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/quantity"
)

func TestParse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for text, want := range map[string]string{"100m": "100m", "1e3": "1e3", "1E": "1E", "2Ei": "2Ei", "1e-3": "1e-3", "1E+2": "100", "0.5": "500m"} {
		q, err := quantity.Parse(text)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(q.String()).To(Equal(want))
	}
	for _, text := range []string{"1e999999999", "1e-999999999", "1E31", "-1e+9999999999999999999999", "much", "", strings.Repeat("1", 101)} {
		_, err := quantity.Parse(text)
		g.Expect(err).To(HaveOccurred(), text)
	}
}

func TestAmountsAreNotLessThanNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, text := range []string{"0", "-0", "1", "100m", "1e3", "", "much", "null"} {
		g.Expect(quantity.CheckAmount(text)).To(Succeed(), text)
	}
	for _, text := range []string{"-1", "-100m", " -1", "-1e-3", "-1Gi", "1e999999999"} {
		g.Expect(quantity.CheckAmount(text)).NotTo(Succeed(), text)
	}
	var amounts map[string]quantity.Checked
	g.Expect(json.Unmarshal([]byte(`{"cpu": "1", "memory": 5, "pods": null}`), &amounts)).To(Succeed())
	for _, text := range []string{`{"cpu": "-1"}`, `{"cpu": " -1"}`, `{"cpu": -1}`, `{"cpu": -1.5}`} {
		g.Expect(json.Unmarshal([]byte(text), &amounts)).NotTo(Succeed(), text)
	}
}
