package main

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestAColumnSaysHowFiguresGrow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var c columns
	sizes := []size{{10, 100}, {20, 200}, {40, 400}}
	for i, of := range []float64{1, 2, 4} {
		c.put(i, "hub CPU", of, "ms")
		c.put(i, "writes for each", 11, "")
	}
	c.put(2, "seen at the end only", 3, "s")
	c.put(0, "seen at first only", 3, "")
	g.Expect(c.table("what", sizes, 0).String()).To(Equal(`| what                 | 10 agents, 100 applications | 20 agents, 200 applications | 40 agents, 400 applications | grows by (size: 4.0) |
| ---                  | ---                         | ---                         | ---                         | ---                  |
| hub CPU              | 1.00 ms                     | 2.00 ms                     | 4.00 ms                     | 4.0                  |
| writes for each      | 11.0                        | 11.0                        | 11.0                        | 1.0                  |
| seen at the end only | –                           | –                           | 3.00 s                      |                      |
| seen at first only   | 3.00                        | –                           | –                           |                      |
`))
}

func TestWhatIsRareEverywhereIsToldTogether(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var c columns
	c.put(0, "PATCH works", 99, "")
	c.put(0, "GET secrets", 0.5, "")
	c.put(0, "GET roles", 0.25, "")
	g.Expect(c.table("requests", []size{{10, 100}}, 0.01).String()).To(Equal(`| requests    | 10 agents, 100 applications |
| ---         | ---                         |
| PATCH works | 99.0                        |
| 2 others    | 0.750                       |
`), "one size does not grow")
	c.put(1, "PATCH works", 9, "")
	c.put(1, "GET roles", 1, "")
	g.Expect(c.table("requests", []size{{10, 100}, {20, 200}}, 0.01).String()).To(And(
		ContainSubstring("GET roles "), ContainSubstring("1 others ")), "GET roles is not rare in the second column")
}
