package compression

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
)

func TestOnlyWhoSaysThatItLikesGzipBetterPrefersIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		accept []string
		want   bool
	}{
		"nothing said":                       {nil, false},
		"what clients in Go say":             {[]string{"gzip"}, false},
		"what browsers say":                  {[]string{"gzip, deflate, br, zstd"}, false},
		"anything":                           {[]string{"*"}, false},
		"gzip better":                        {[]string{"gzip, identity;q=0.5"}, true},
		"the same in two lines":              {[]string{"identity;q=0.5", "gzip"}, true},
		"other spaces and letters":           {[]string{"GZIP ; Q=1.0,Identity; q=0.999"}, true},
		"never without":                      {[]string{"gzip;q=0.1, identity;q=0"}, true},
		"both alike":                         {[]string{"gzip, identity"}, false},
		"the other better":                   {[]string{"gzip;q=0.5, identity"}, false},
		"another coding":                     {[]string{"deflate, identity;q=0.5"}, false},
		"a quality that is none":             {[]string{"gzip;q=high, identity;q=0.5"}, false},
		"a quality that is not a number":     {[]string{"gzip;q=NaN, identity;q=0"}, false},
		"a quality beyond the highest":       {[]string{"gzip;q=2, identity;q=0.5"}, false},
		"another parameter than the quality": {[]string{"gzip;level=9, identity;q=0.5"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(preferred(http.Header{"Accept-Encoding": c.accept})).To(Equal(c.want))
		})
	}
}
