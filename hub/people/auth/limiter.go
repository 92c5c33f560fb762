package auth

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"k8s.io/utils/clock"

	"fairlead.dev/common/connlimit"
)

// Limits on sign-in attempts, for one address and for all together. Each attempt costs a request to the API server, and
// the limit makes guessing tokens hopeless.
const (
	triesPerAddress = 10
	triesEvery      = 6 * time.Second
	// People who come back from the issuer cannot guess anything, and a proxy makes all of them come from one address.
	callbacksPerAddress = 200
	callbacksEvery      = 500 * time.Millisecond
	triesOfAll          = 200
	triesOfAllEvery     = 100 * time.Millisecond
	// maxAddresses bounds the number of remembered addresses.
	maxAddresses = 4096
)

// limiter limits tries by address. It is safe for use by many goroutines.
type limiter struct {
	clock clock.PassiveClock
	// tries is the burst of one address, and every the time after which it may try once more.
	tries int
	every time.Duration
	mu    sync.Mutex
	all   *rate.Limiter
	each  map[string]*rate.Limiter
	// forgot is when addresses were last forgotten.
	forgot time.Time
}

func newLimiter(c clock.PassiveClock, tries int, every time.Duration) *limiter {
	return &limiter{clock: c, tries: tries, every: every, all: rate.NewLimiter(rate.Every(triesOfAllEvery), triesOfAll), each: map[string]*rate.Limiter{}}
}

// allow counts a try of an address, and says whether it is allowed.
func (l *limiter) allow(address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	one := l.each[address]
	if one == nil {
		if len(l.each) >= maxAddresses {
			l.forget(now)
		}
		if len(l.each) >= maxAddresses {
			return false // that many addresses at once are not people
		}
		one = rate.NewLimiter(rate.Every(l.every), l.tries)
		l.each[address] = one
	}
	return one.AllowN(now, 1) && l.all.AllowN(now, 1)
}

// forget forgets the addresses whose full burst is available again. It scans them at most once in the time in which one of them gains a
// try, so that calls from thousands of addresses do not each cause a scan.
func (l *limiter) forget(now time.Time) {
	if !l.forgot.IsZero() && now.Sub(l.forgot) < l.every {
		return
	}
	l.forgot = now
	for address, one := range l.each {
		if one.TokensAt(now) >= float64(l.tries) {
			delete(l.each, address)
		}
	}
}

// addressOf returns the address of a request's client; for IPv6 the network of one customer. Headers of proxies are ignored, since anybody
// can set them.
func addressOf(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return connlimit.Network(at.Addr()).Addr().String()
}
