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

// How often one address, and all together, may try to sign in. Each try costs the API server
// a request, and guessing a token must not be a matter of patience.
const (
	triesPerAddress = 10
	triesEvery      = 6 * time.Second
	// People who come back from the issuer guess nothing, and a proxy has all of them come from one address.
	callbacksPerAddress = 200
	callbacksEvery      = 500 * time.Millisecond
	triesOfAll          = 200
	triesOfAllEvery     = 100 * time.Millisecond
	// maxAddresses bounds how many addresses are remembered.
	maxAddresses = 4096
)

// limiter counts tries. It may be used by many goroutines.
type limiter struct {
	clock clock.PassiveClock
	// tries is how many one address has at once, and every after how long it has one more.
	tries int
	every time.Duration
	mu    sync.Mutex
	all   *rate.Limiter
	each  map[string]*rate.Limiter
	// forgot is when addresses were last looked through for those that need not be remembered.
	forgot time.Time
}

func newLimiter(c clock.PassiveClock, tries int, every time.Duration) *limiter {
	return &limiter{clock: c, tries: tries, every: every, all: rate.NewLimiter(rate.Every(triesOfAllEvery), triesOfAll), each: map[string]*rate.Limiter{}}
}

// allow says whether an address may try now.
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
			return false // so many at once are no people
		}
		one = rate.NewLimiter(rate.Every(l.every), l.tries)
		l.each[address] = one
	}
	return one.AllowN(now, 1) && l.all.AllowN(now, 1)
}

// forget drops the addresses that have all their tries again. It looks through them no more often than one of them may have
// gained a try: whoever calls from thousands of addresses does not have all of them looked at for each call.
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

// addressOf returns from where a request comes; of IPv6 the network that one customer has.
// What proxies say is not believed: whoever wants to can say it.
func addressOf(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return connlimit.Network(at.Addr()).Addr().String()
}
