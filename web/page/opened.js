var r="berth-key";function e(o){localStorage.setItem(r,o)}var t=document.querySelector('meta[name="berth-key"]')?.content;t&&e(t);location.replace("/");
