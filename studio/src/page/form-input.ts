// Values of form elements in event handlers.

export function inputValue(event: Event): string {
  return (event.target as HTMLInputElement | HTMLSelectElement).value;
}

export function isChecked(event: Event): boolean {
  return (event.target as HTMLInputElement).checked;
}
