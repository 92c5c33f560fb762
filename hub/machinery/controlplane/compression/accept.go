package compression

import (
	"net/http"
	"strconv"
	"strings"
)

const (
	gzipCoding = "gzip"
	identity   = "identity"
)

// preferred says whether a client explicitly prefers gzip to no compression. Merely accepting gzip, or not mentioning
// the alternative, does not count.
func preferred(header http.Header) bool {
	var zipped, plain float64
	said := false
	for coding := range strings.SplitSeq(strings.Join(header.Values("Accept-Encoding"), ","), ",") {
		name, quality := parse(coding)
		switch name {
		case gzipCoding:
			zipped = quality
		case identity:
			plain, said = quality, true
		}
	}
	return said && zipped > plain
}

// parse splits a coding such as "gzip;q=0.5". An invalid quality counts as 0.
func parse(coding string) (name string, quality float64) {
	name, parameters, found := strings.Cut(coding, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	if !found {
		return name, 1
	}
	key, value, _ := strings.Cut(parameters, "=")
	quality, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if strings.ToLower(strings.TrimSpace(key)) != "q" || err != nil || !(quality >= 0 && quality <= 1) {
		return name, 0
	}
	return name, quality
}
