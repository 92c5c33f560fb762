// Package browser looks at the dashboard as people do, in a browser: each page, what changes
// on it without being loaded again, signing in, an action, what the console says, and what
// those need who cannot see it or use no mouse.
//
// It needs the program chromium (or chromium-browser, google-chrome, or what $CHROMIUM
// names). Where there is none, the tests say that they were skipped, and fail if
// $FAIRLEAD_NEED_TOOLS names it, as the whole check has it. Screenshots are in _artifacts.
package browser
