// Package browser tests the dashboard in a real browser: each page, live updates, signing in, an action, errors on the
// console, and accessibility to people who cannot see the page or do not use a mouse.
//
// It needs chromium (or chromium-browser, google-chrome, or the program that $CHROMIUM names). Without one the tests
// are skipped, or fail if $FAIRLEAD_NEED_TOOLS names it, as it does in the full check. Screenshots are written to
// _artifacts.
package browser
